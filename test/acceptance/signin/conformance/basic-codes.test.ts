// `oidcc-basic-certification-test-plan`: reused codes and tokens, and time.
import { codeModules } from './codes.ts'

codeModules('default')
