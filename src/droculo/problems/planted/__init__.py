"""Problems with a best point in hindsight that is known exactly for any adversary, against which regret can be measured."""
