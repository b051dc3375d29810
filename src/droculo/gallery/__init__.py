"""One story for each application: `python -m droculo.gallery` runs them and writes their pages and pictures."""

from droculo.gallery import classics, commerce, feeder, sensors, social
from droculo.gallery.page import Story

#: by the name of the page
STORIES: dict[str, Story] = {
    "feeder": feeder.STORY,
    "feeder-trees": feeder.TREES,
    "recommendation": commerce.RECOMMENDATION,
    "movielens": commerce.MOVIELENS,
    "pricing": commerce.PRICING,
    "inventory": commerce.INVENTORY,
    "mean-field": classics.MEAN_FIELD,
    "mean-field-weak": classics.MEAN_FIELD_WEAK,
    "revenue": social.REVENUE,
    "influence": social.INFLUENCE,
    "sensors": sensors.STORY,
    "sensors-mutual": sensors.MUTUAL,
    "nqp": classics.QUADRATIC,
}

__all__ = ["STORIES", "Story"]
