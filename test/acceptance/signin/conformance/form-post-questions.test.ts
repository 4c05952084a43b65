// `oidcc-formpost-basic-certification-test-plan`: request parameters; the smaller tier asks them without form_post (basic-questions.test.ts).
import { describe } from 'vitest'
import { FULL } from '#test/support/tier.ts'
import { questionModules } from './questions.ts'

describe.runIf(FULL)('by form_post', () => questionModules('form_post'))
