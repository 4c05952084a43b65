// `oidcc-basic-certification-test-plan`: responses.
import { answerModules } from './answers.ts'

answerModules('default')
