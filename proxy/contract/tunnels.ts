import { z } from 'zod'
import { App, type ErrorCode, isErrorCode, SessionId, TextUpTo } from '#manager/contract'

export const TunnelId = TextUpTo(200).brand<'TunnelId'>()
export type TunnelId = z.infer<typeof TunnelId>

export const TunnelSpec = z.strictObject({
  sessionId: SessionId,
  /** Name of an app, or of a port (`http-8080`). */
  app: TextUpTo(32),
  /**
   * 1024…65535. Tried first; without it the port remembered for (user, session name, app), else any free one. On a computer with other
   * people, a web app gets `port` with `random` only if no tunnel had it, and never gets a remembered port (ADR 76).
   */
  port: z.int().min(1024).max(65_535).optional(),
  /** Behaviour if that port is taken: fail (default), or take a random one. */
  onPortTaken: z.enum(['fail', 'random']).default('fail'),
  /** First page of an HTTP app, with its query; the app's own if left out. */
  path: TextUpTo(2_000).startsWith('/').optional(),
})
export type TunnelSpec = z.input<typeof TunnelSpec>

/** A local listener forwarded to an app of a session. */
export const Tunnel = z.object({
  id: TunnelId,
  sessionId: SessionId,
  sessionName: z.string(),
  app: App,
  /** Always 127.0.0.1 (and ::1 at the same port). */
  host: z.string(),
  port: z.int(),
  state: z.enum(['open', 'reconnecting', 'signed_out', 'ended']),
  connections: z.int(),
  bytesUp: z.number(),
  bytesDown: z.number(),
  /** Last failure, for the console; TCP clients only see a reset. */
  lastError: z
    .object({ code: z.custom<ErrorCode>(isErrorCode), message: z.string(), detail: z.record(z.string(), z.unknown()) })
    .nullable(),
  openedAt: z.iso.datetime(),
})
export type Tunnel = z.infer<typeof Tunnel>

/** Traffic of a tunnel at the moment. */
export interface TunnelTraffic {
  readonly id: TunnelId
  /** Bytes since it was opened, as in `Tunnel`. */
  readonly bytesUp: number
  readonly bytesDown: number
  readonly upPerSecond: number
  readonly downPerSecond: number
}

/** Everything a person or a client program needs to connect by SSH or SFTP. */
export const SshKit = z.object({
  tunnel: Tunnel,
  user: z.string(),
  hostAlias: z.string().describe('Name in the ssh configuration: `ssh <alias>`.'),
  hostKeyFingerprint: z.string(),
  hostKey: z.string().describe('As in a known_hosts file, without the name: `ssh-ed25519 AAAA…`.'),
  /** True where the Include line and the Host block are in the user's ~/.ssh/config. */
  configInstalled: z.boolean(),
  /**
   * Forwards that the user's ssh_config sets for all hosts, e.g. `RemoteForward 8080 …`: programs that read it open them for the session
   * too.
   */
  forwards: z.array(z.string()),
  /** Path of the id_container that was written (0600); null if the host writes no files (browser on another computer). */
  identityFile: z.string().nullable(),
  commands: z.object({ ssh: z.string(), sftp: z.string(), scp: z.string(), rsync: z.string(), psftp: z.string() }),
  vscodeUrl: z.string(),
  winscpUrl: z.string(),
})
export type SshKit = z.infer<typeof SshKit>

/** Programs of the user's computer that can open a session; `drive` makes its files a folder or a drive there. */
export const Program = z.enum(['terminal', 'vscode', 'cursor', 'gateway', 'putty', 'winscp', 'filezilla', 'drive'])
export type Program = z.infer<typeof Program>

/** Whether a program knows a session only by the Host block in the user's own ~/.ssh/config. */
export function needsSshConfig(program: Program, platform: string): boolean {
  // The Terminal of macOS takes an address, no command.
  return ['vscode', 'cursor', 'gateway'].includes(program) || (program === 'terminal' && platform === 'darwin')
}

/** A file the console offers for download. */
export const KeyFormat = z.enum(['openssh', 'ppk', 'filezilla'])
export type KeyFormat = z.infer<typeof KeyFormat>
export const KeyFile = z.object({ fileName: z.string(), mediaType: z.string(), content: z.string() })
export type KeyFile = z.infer<typeof KeyFile>

/** One-time URL on the origin of the app: `http://<app>--<session>.localhost:<port>/?…`. */
export const AppUrl = z.object({ url: z.string(), tunnel: Tunnel })
export type AppUrl = z.infer<typeof AppUrl>
