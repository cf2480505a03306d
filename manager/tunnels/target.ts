import { AppError, because, CommandId, SessionId } from '#manager/contract'

const ROLE = /^[a-z]{1,8}\d{1,3}$/

/** The target in the URL of an upgrade; never a host or a port. */
export type Target =
  | { readonly kind: 'app'; readonly sessionId: SessionId; readonly app: string }
  | {
      readonly kind: 'terminal'
      readonly sessionId: SessionId
      readonly name: string
      /** Role of the kernel; undefined: the main one. */
      readonly kernel?: string
      readonly cols: number
      readonly rows: number
    }
  | { readonly kind: 'command'; readonly sessionId: SessionId; readonly commandId: string }

/**
 *     /stream/session/{id}/{tcpproxy|httpproxy}?app=NAME              `service=NAME` is an older spelling
 *     /stream/session/{id}/command?id=COMMAND
 *     /api/v1/sessions/{id}/terminal?name=main&cols=80&rows=24        `kernel=sub1` for another container of the session
 *
 * @throws AppError `session_not_found`, `app_not_found`, `command_not_found`, `kernel_not_found`, `bad_request`
 */
export function parseTarget({ pathname, searchParams }: URL): Target {
  const parts = pathname.split('/')
  const terminal = parts.at(-1) === 'terminal'
  const id = SessionId.safeParse(parts[terminal ? 4 : 3])
  if (!id.success) throw new AppError('session_not_found')
  const sessionId = id.data
  if (parts.at(-1) === 'command') {
    const command = CommandId.safeParse(searchParams.get('id'))
    if (!command.success) throw new AppError('command_not_found', because('command_forgotten'))
    return { kind: 'command', sessionId, commandId: command.data }
  }
  if (!terminal) {
    const app = searchParams.get('app') ?? searchParams.get('service') ?? ''
    if (app === '' || app.length > 32) throw new AppError('app_not_found', { app: app.slice(0, 32) })
    return { kind: 'app', sessionId, app }
  }
  const name = searchParams.get('name') ?? 'main'
  if (!/^[a-z0-9-]{1,32}$/.test(name)) throw new AppError('bad_request', because('terminal_name'))
  const kernel = searchParams.get('kernel')
  if (kernel !== null && !ROLE.test(kernel))
    throw new AppError('kernel_not_found', because('kernel_unknown', { kernel: kernel.slice(0, 32) }))
  return {
    kind: 'terminal',
    sessionId,
    name,
    ...(kernel === null ? {} : { kernel }),
    cols: sizeOf(searchParams.get('cols'), 80),
    rows: sizeOf(searchParams.get('rows'), 24),
  }
}

function sizeOf(text: string | null, otherwise: number): number {
  const size = Number(text ?? otherwise)
  if (!Number.isInteger(size) || size < 1 || size > 1000) {
    throw new AppError('bad_request', because('terminal_size'))
  }
  return size
}
