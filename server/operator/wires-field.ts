/** The input field for the wires of OpenAI's API in which a model answers. */
import * as z from 'zod/mini'
import { OPENAI_WIRES } from '#domain/provider.ts'

/** In one order whatever was typed, so that two files which say the same are the same. */
export const wiresField = z.pipe(
  z.array(z.enum(OPENAI_WIRES)).check(z.minLength(1), z.maxLength(OPENAI_WIRES.length)),
  z.transform((stated) => OPENAI_WIRES.filter((wire) => stated.includes(wire))),
)
