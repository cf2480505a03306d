/**
 * `POST` an empty JSON array with a sign-in: returns a code for `berth local`, which proves that the browser runs on the console's
 * computer. The answer is a Reply with a `LocalCode`, or with `null` where the console has no socket for the command.
 */
export const LOCAL_CODE_PATH = '/host/local-code'

export interface LocalCode {
  /** For people: `ABCD-EFGH`. */
  readonly code: string
  readonly validSeconds: number
  /** Port of the console, which the command has to name if it is not the default. */
  readonly port: number
}

/** Port of the console where nothing else is configured. */
export const CONSOLE_PORT = 8400

/** The command that a person runs on the console's computer. */
export const localCommand = ({ code, port }: Pick<LocalCode, 'code' | 'port'>): string =>
  `berth local ${code}${port === CONSOLE_PORT ? '' : ` --port ${port}`}`

/** Facts that the command shows before the person agrees. */
export interface AskedLocally {
  readonly email: string
  /** Name of the browser, as the browser gives it. */
  readonly browser: string
  readonly secondsAgo: number
  /** User id of the operating system under which the browser's connection was opened; null if that cannot be told. */
  readonly uid: number | null
}

/** Directories of the console's sockets, which all users of the computer can reach: of a service, and of a person. */
export const localSocketDirectories = (port: number): readonly string[] => [
  `/run/berth/local-${port}`,
  `/tmp/berth-local-${port}`,
]
/** Sockets in the directory. The first lies in a directory that only the console's account can enter. */
export const LOCAL_SOCKETS = { account: 'account/socket', everyone: 'socket' } as const
/** Field that each request to such a socket must have, so that no other program makes one by accident. */
export const LOCAL_SOCKET_HEADER = 'x-berth-local-command'
