// `oidcc-basic-certification-test-plan`: request parameters.
import { questionModules } from './questions.ts'

questionModules('default')
