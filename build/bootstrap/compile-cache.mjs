import * as nodeModule from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Keeps compiled code (types stripped, parsed) from one start to the next, for this process and all that it starts, in a
 * directory of this user only. Saves about half of the start-up time.
 */
export function keepCompiledCode() {
  if (nodeModule.enableCompileCache === undefined) return
  const cache = process.env.XDG_CACHE_HOME ?? process.env.LOCALAPPDATA ?? join(homedir(), '.cache')
  process.env.NODE_COMPILE_CACHE ??= join(cache, 'berth', 'compiled')
  nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE)
}
