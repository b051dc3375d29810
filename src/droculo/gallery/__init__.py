"""One story for each application: `python -m droculo.gallery` runs them and writes their pages and pictures."""

from droculo.gallery import (
    feeder,
    influence,
    inventory,
    mean_field,
    pricing,
    quadratic,
    recommendation,
    revenue,
    sensors,
)
from droculo.gallery.story import Story

#: by the name of the page
STORIES: dict[str, Story] = {
    "feeder": feeder.STORY,
    "feeder-trees": feeder.TREES,
    "recommendation": recommendation.STORY,
    "movielens": recommendation.MOVIELENS,
    "pricing": pricing.STORY,
    "inventory": inventory.STORY,
    "mean-field": mean_field.STORY,
    "mean-field-weak": mean_field.WEAK,
    "revenue": revenue.STORY,
    "influence": influence.STORY,
    "sensors": sensors.STORY,
    "sensors-mutual": sensors.MUTUAL,
    "nqp": quadratic.STORY,
}

__all__ = ["STORIES", "Story"]
