import { z } from 'zod'

/** Where the SFTP port of the user's folders is to listen. */
export const FolderPortSpec = z.strictObject({
  /** 1024…65535. Tried first; without it the port used last, else any free one. */
  port: z.int().min(1024).max(65_535).optional(),
  /** Behaviour if that port is taken: fail (default), or take a random one. */
  onPortTaken: z.enum(['fail', 'random']).default('fail'),
})
export type FolderPortSpec = z.input<typeof FolderPortSpec>

/** The SFTP port that serves all folders of the user. */
export const FolderPort = z.object({
  /** Always 127.0.0.1 (and ::1 at the same port). */
  host: z.string(),
  port: z.int(),
  connections: z.int(),
  openedAt: z.iso.datetime(),
})
export type FolderPort = z.infer<typeof FolderPort>

/** Everything a person or a client program needs to reach the folders by SFTP. */
export const FolderKit = z.object({
  port: FolderPort,
  user: z.string(),
  hostAlias: z.string().describe('Name in the ssh configuration: `sftp <alias>`.'),
  hostKeyFingerprint: z.string(),
  /** True where the Include line and the Host block are in the user's ~/.ssh/config. */
  configInstalled: z.boolean(),
  /** Path of the private key that was written (0600); its PuTTY form is beside it, with `.ppk`. */
  identityFile: z.string(),
  /** Our ssh configuration with the Host block: `sftp -F <configFile> <alias>`. */
  configFile: z.string(),
  commands: z.object({ sftp: z.string(), sshfs: z.string(), rclone: z.string(), psftp: z.string() }),
  winscpUrl: z.string(),
})
export type FolderKit = z.infer<typeof FolderKit>
