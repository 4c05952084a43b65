/** The admission queue of a gateway that is put together by hand. */
import { AdmissionQueue } from '#domain/admission-queue.ts'
import type { Clock } from '#domain/clock.ts'
import type { Store } from '#domain/store.ts'

/** Nobody waits in it, unless for so long. */
export const anAdmissionQueue = (
  store: Pick<Store, 'admissions' | 'answers'>,
  clock: Clock,
  waitMs = 0,
): AdmissionQueue => new AdmissionQueue({ clock, store, waitMs })
