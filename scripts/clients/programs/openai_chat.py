import json

from openai import OpenAI
from tools import MODEL, QUESTION, TOOLS, carry_out, schema

client = OpenAI()
tools = [
    {"type": "function", "function": {"name": name, "description": run.__doc__, "parameters": schema(name), "strict": True}}
    for name, run in TOOLS.items()
]


def ask(stream: bool, messages: list):
    if not stream:
        return client.chat.completions.create(model=MODEL, messages=messages, tools=tools).choices[0].message
    with client.chat.completions.stream(model=MODEL, messages=messages, tools=tools) as events:
        for _ in events:
            pass
        return events.get_final_completion().choices[0].message


for stream in (False, True):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    while (answer := ask(stream, messages)).tool_calls:
        messages.append(answer)
        for call in answer.tool_calls:
            result = carry_out(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(answer.content)
