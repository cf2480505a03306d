import { AppError, because, type Because, isAppError } from '#manager/contract'

const NO_SOURCE = /bind source path does not exist: (\/[^\s"]*)/

/**
 * Detects that the engine does not find the agent's own directories at the agent's paths: the agent runs in another mount namespace, or on
 * another computer. Then no session can start until the agent is started elsewhere.
 */
export interface DirectoryApart {
  /** The problem, for admins; null until detected. */
  readonly problem: Because | null
  /** Rewords the error of a failed start for owners if this problem caused it. */
  told(error: unknown): unknown
}

/** @param directories of the agent, absolute; missing folders of a storage are not this problem */
export function createDirectoryApart(directories: readonly string[], onChange: () => void): DirectoryApart {
  let problem: Because | null = null
  return {
    get problem() {
      return problem
    },
    told(error) {
      const path = isAppError(error) ? NO_SOURCE.exec(String(error.detail['why']))?.[1] : undefined
      if (path === undefined || !directories.some(own => path === own || path.startsWith(`${own}/`))) return error
      const before = problem
      problem = because('agent_directory_apart', { path: directories[0] ?? path })
      if (before === null) onChange()
      return new AppError('unavailable', because('host_directory_apart'), { cause: error })
    },
  }
}
