import anthropic
from tools import MODEL, QUESTION, TOOLS, carry_out, schema

client = anthropic.Anthropic()
tools = [{"name": name, "description": run.__doc__, "input_schema": schema(name)} for name, run in TOOLS.items()]
asked = {
    "model": MODEL,
    "max_tokens": 4_000,
    "system": "Be brief.",
    "tools": tools,
    "thinking": {"type": "enabled", "budget_tokens": 2_000},
}


def ask(stream: bool, messages: list):
    if not stream:
        return client.messages.create(**asked, messages=messages)
    with client.messages.stream(**asked, messages=messages) as events:
        return events.get_final_message()


for stream in (False, True):
    messages = [{"role": "user", "content": QUESTION}]
    while True:
        answer = ask(stream, messages)
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            break
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": carry_out(call.name, call.input)}
            for call in calls
        ]
        messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]
    print("".join(block.text for block in answer.content if block.type == "text"))
