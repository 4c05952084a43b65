/** What is left of the windows of a key or an account, as commands show it. */
import type { WindowReading, WindowReadings } from '#domain/window.ts'

/** Null where there is no such limit. */
export interface WindowRecord {
  readonly limit: number
  readonly remaining: number
  readonly reset_seconds: number
}

export interface WindowsRecord {
  readonly minute: WindowRecord | null
  readonly day: WindowRecord | null
  readonly tokens: WindowRecord | null
}

const renderWindow = (reading: WindowReading | null): WindowRecord | null =>
  reading && {
    limit: reading.limit,
    remaining: reading.remaining,
    reset_seconds: reading.resetSeconds,
  }

export const renderWindows = ({ minute, day, tokens }: WindowReadings): WindowsRecord => ({
  minute: renderWindow(minute),
  day: renderWindow(day),
  tokens: renderWindow(tokens),
})
