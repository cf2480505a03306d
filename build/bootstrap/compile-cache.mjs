import * as nodeModule from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Keeps compiled code (types stripped, parsed) from one start to the next, for this process and all that it starts, in a
 * directory of this user only. Saves about half of the start-up time.
 */
export function keepCompiledCode() {
  if (nodeModule.enableCompileCache === undefined) return
  const directory = process.env.NODE_COMPILE_CACHE ?? defaultDirectory()
  if (directory === undefined) return
  process.env.NODE_COMPILE_CACHE = directory
  nodeModule.enableCompileCache(directory)
}

/** Undefined for a user without a home directory, such as the bare user id of a container. */
function defaultDirectory() {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env
  try {
    return join(XDG_CACHE_HOME ?? LOCALAPPDATA ?? join(homedir(), '.cache'), 'berth', 'compiled')
  } catch {
    return undefined
  }
}
