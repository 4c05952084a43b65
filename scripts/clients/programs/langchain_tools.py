import os

from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from tools import MODEL, QUESTION, TOOLS, carry_out

if os.environ["PROVIDER"] == "anthropic":
    from langchain_anthropic import ChatAnthropic

    model = ChatAnthropic(model=MODEL, max_tokens=4_000)
else:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=MODEL, use_responses_api=os.environ["PROVIDER"] == "responses")
model = model.bind_tools(list(TOOLS.values()))


def ask(stream: bool, messages: list):
    if not stream:
        return model.invoke(messages)
    whole = None
    for chunk in model.stream(messages):
        whole = chunk if whole is None else whole + chunk
    return whole


for stream in (False, True):
    messages = [SystemMessage("Be brief."), HumanMessage(QUESTION)]
    while (answer := ask(stream, messages)).tool_calls:
        messages.append(answer)
        for call in answer.tool_calls:
            messages.append(ToolMessage(carry_out(call["name"], call["args"]), tool_call_id=call["id"]))
    print(answer.text)
