import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isObject } from '#base/shapes'
import { AppError } from '#manager/contract'
import { replaceFile } from '../config/replace-file.ts'

/** Clients whose settings `berth mcp configure` knows; `generic`: the form that most others read. */
export const MCP_CLIENTS = ['generic', 'claude-desktop', 'vscode', 'cursor'] as const
export type McpClient = (typeof MCP_CLIENTS)[number]

type Settings = Readonly<Record<string, unknown>>

/** Stands for the token: this command neither reads nor writes one. */
const PLACEHOLDER = 'PUT-THE-ACCESS-TOKEN-HERE'

/** Settings with which a client starts `berth mcp`. VS Code asks for the token and keeps it; the others read it from their file. */
export function settingsOf(client: McpClient, endpoint: string): Settings {
  const start = (token: string) => ({
    command: 'berth',
    args: ['mcp'],
    env: { BERTH_ENDPOINT: endpoint, BERTH_TOKEN: token },
  })
  if (client !== 'vscode') return { mcpServers: { berth: start(PLACEHOLDER) } }
  const id = 'berth-token'
  return {
    inputs: [{ type: 'promptString', id, description: 'Access token of Berth', password: true }],
    servers: { berth: { type: 'stdio', ...start(`\${input:${id}}`) } },
  }
}

/** File in which a client looks for its settings; undefined for `generic`. VS Code: that of the folder in which the command runs. */
export function settingsFile(client: McpClient, platform: NodeJS.Platform = process.platform): string | undefined {
  if (client === 'vscode') return join('.vscode', 'mcp.json')
  if (client === 'cursor') return join(homedir(), '.cursor', 'mcp.json')
  if (client !== 'claude-desktop') return undefined
  const name = join('Claude', 'claude_desktop_config.json')
  if (platform === 'win32') return join(process.env.APPDATA ?? join(homedir(), 'AppData', 'Roaming'), name)
  return platform === 'darwin'
    ? join(homedir(), 'Library', 'Application Support', name)
    : join(process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config'), name)
}

/** Adds settings to a file, which only this user can read afterwards; what else is in it stays. @throws AppError `bad_request` */
export async function addToFile(path: string, settings: Settings): Promise<void> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '{}'
    throw error
  })
  await replaceFile(path, `${JSON.stringify(withSettings(parse(path, text), settings), undefined, 2)}\n`)
}

function parse(path: string, text: string): Settings {
  let value: unknown
  try {
    value = JSON.parse(text.trim() === '' ? '{}' : text)
  } catch {
    // Comments would be lost.
  }
  if (isObject(value)) return value
  throw new AppError('bad_request', {
    why: `${path} is no plain JSON. Add the settings that \`berth mcp configure\` prints by hand.`,
  })
}

/** Lists are joined by the ids of their entries, objects by their names; an entry of ours replaces an older one. */
export function withSettings(present: Settings, added: Settings): Settings {
  const merged: Record<string, unknown> = { ...present }
  for (const [key, value] of Object.entries(added)) {
    const old = merged[key]
    if (Array.isArray(value)) {
      const entries: unknown[] = value
      const before: unknown[] = Array.isArray(old) ? old : []
      const ids = new Set(entries.map(idOf))
      merged[key] = [...before.filter(one => idOf(one) === undefined || !ids.has(idOf(one))), ...entries]
    } else merged[key] = { ...(isObject(old) ? old : {}), ...(value as Settings) }
  }
  return merged
}

const idOf = (entry: unknown): unknown => (isObject(entry) ? entry.id : undefined)
