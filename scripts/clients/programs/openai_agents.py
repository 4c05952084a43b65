import asyncio

from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool
from tools import MODEL, QUESTION, TOOLS

# The default provider takes what stands before a slash for the name of a provider; traces would be sent to OpenAI.
config = RunConfig(model_provider=OpenAIProvider(), tracing_disabled=True)
agent = Agent(
    name="guide",
    instructions="Be brief.",
    model=MODEL,
    tools=[function_tool(run) for run in TOOLS.values()],
)


async def main() -> None:
    print((await Runner.run(agent, QUESTION, run_config=config)).final_output)
    streamed = Runner.run_streamed(agent, QUESTION, run_config=config)
    async for _ in streamed.stream_events():
        pass
    print(streamed.final_output)


asyncio.run(main())
