// The two tools of every program, and what is asked. The first takes longer, so that its result comes last.
export const MODEL = process.env.MODEL
export const QUESTION = 'How is the weather in Reykjavík, and how late is it in Oslo?'

const field = (name, description) => ({
  type: 'object',
  properties: { [name]: { type: 'string', description } },
  required: [name],
  additionalProperties: false,
})

export const TOOLS = [
  {
    name: 'weather',
    description: 'weather of a city',
    parameters: field('city', 'its name'),
    async run({ city }) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      return `weather of ${city}: ${city.length}`
    },
  },
  {
    name: 'clock',
    description: 'time of a zone',
    parameters: field('zone', 'its name, such as Asia/Tokyo'),
    run: async ({ zone }) => `clock of ${zone}: ${zone.length}`,
  },
]

export const carryOut = (name, args) => TOOLS.find((tool) => tool.name === name).run(args)

// Each kind of answer, whole and streamed, shows the last word of its turn.
export async function both(finish) {
  console.log(await finish(false))
  console.log(await finish(true))
}
