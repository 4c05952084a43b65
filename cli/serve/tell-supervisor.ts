/** Tells systemd that this process serves, and is the main one of its unit from now on: `sd_notify`. */
import { dlopen, ptr } from 'bun:ffi'

const AF_UNIX = 1
const SOCK_DGRAM_CLOEXEC = 0o2000002
const LIBRARY = 'libc.so.6'

/** At `NOTIFY_SOCKET`. The runtime has no datagram socket of this kind. @throws where there is no such library */
export function tellSupervisor(path: string): void {
  const { symbols, close } = dlopen(LIBRARY, {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    sendto: { args: ['i32', 'ptr', 'u64', 'i32', 'ptr', 'u32'], returns: 'i64' },
    close: { args: ['i32'], returns: 'i32' },
  })
  const words = Buffer.from(`READY=1\nMAINPID=${process.pid}`)
  // An abstract name begins with a NUL.
  const name = Buffer.from(path.replace(/^@/, '\0'))
  const address = Buffer.concat([new Uint8Array(Uint16Array.of(AF_UNIX).buffer), name])
  const socket = symbols.socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0)
  symbols.sendto(socket, ptr(words), words.length, 0, ptr(address), address.length)
  symbols.close(socket)
  close()
}
