// `oidcc-formpost-basic-certification-test-plan`: reused codes and tokens, and time, which nothing waits for in the smaller tier.
import { describe } from 'vitest'
import { FULL } from '#test/support/tier.ts'
import { codeModules } from './codes.ts'

describe.runIf(FULL)('by form_post', () => codeModules('form_post'))
