"""The two tools of every program, and what is asked."""
import os

MODEL = os.environ["MODEL"]
QUESTION = "How is the weather in Reykjavík, and how late is it in Oslo?"


def weather(city: str) -> str:
    """Weather of a city.

    Args:
        city: its name
    """
    return f"weather of {city}: {len(city)}"


def clock(zone: str) -> str:
    """Time of a zone.

    Args:
        zone: its name, such as Asia/Tokyo
    """
    return f"clock of {zone}: {len(zone)}"


TOOLS = {"weather": weather, "clock": clock}
FIELDS = {"weather": "city", "clock": "zone"}


def schema(name: str) -> dict:
    field = FIELDS[name]
    properties = {field: {"type": "string"}}
    return {"type": "object", "properties": properties, "required": [field], "additionalProperties": False}


def carry_out(name: str, args: dict) -> str:
    return TOOLS[name](**args)
