// `oidcc-formpost-basic-certification-test-plan`: responses.
import { answerModules } from './answers.ts'

answerModules('form_post')
