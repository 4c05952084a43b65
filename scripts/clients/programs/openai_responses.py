import json

from openai import OpenAI
from tools import MODEL, QUESTION, TOOLS, carry_out, schema

client = OpenAI()
tools = [
    {"type": "function", "name": name, "description": run.__doc__, "parameters": schema(name), "strict": True}
    for name, run in TOOLS.items()
]


def ask(stream: bool, items: list):
    if not stream:
        return client.responses.create(model=MODEL, instructions="Be brief.", input=items, tools=tools)
    with client.responses.stream(model=MODEL, instructions="Be brief.", input=items, tools=tools) as events:
        for _ in events:
            pass
        return events.get_final_response()


for stream in (False, True):
    items = [{"role": "user", "content": QUESTION}]
    while True:
        answer = ask(stream, items)
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            break
        items += answer.output
        for call in calls:
            result = carry_out(call.name, json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
    print(answer.output_text)
