import { z } from 'zod'

/**
 * Scopes of access tokens, each a part of what a person may do. `read`: see what its owner sees, but no contents of folders, no variables
 * and no secrets; `launch`: launch sessions, and change, restart and end those; `enter`: run commands in them and open their apps, terminals
 * and ports; `files`: read and write files of the owner's folders, and mount folders; `apps`: send requests to web apps of those sessions, or
 * to the one app that the token names.
 */
export const TOKEN_SCOPES = ['read', 'launch', 'enter', 'files', 'apps'] as const
export const TokenScope = z.enum(TOKEN_SCOPES)
export type TokenScope = z.infer<typeof TokenScope>
