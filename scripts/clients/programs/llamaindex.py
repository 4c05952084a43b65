import asyncio
import os

from llama_index.core.agent.workflow import FunctionAgent
from tools import MODEL, QUESTION, TOOLS

PROVIDER = os.environ["PROVIDER"]
if PROVIDER == "anthropic":
    from llama_index.llms.anthropic import Anthropic

    model = Anthropic(model=os.environ["ALIAS"], max_tokens=4_000)
else:
    from llama_index.llms.openai_like import OpenAILike

    model = OpenAILike(
        model=MODEL,
        api_base=os.environ["OPENAI_BASE_URL"],
        api_key=os.environ["OPENAI_API_KEY"],
        is_chat_model=True,
        is_function_calling_model=True,
    )


async def main() -> None:
    for streaming in (False, True):
        agent = FunctionAgent(tools=list(TOOLS.values()), llm=model, system_prompt="Be brief.", streaming=streaming)
        print(await agent.run(QUESTION))


asyncio.run(main())
