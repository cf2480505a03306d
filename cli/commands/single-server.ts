import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { type Readable } from 'node:stream'
import { type Command } from 'commander'
import { defined } from '#base/defined'
import { dataDirectory } from '../config/directories.ts'
import { type ServerCommand, variablesHelp } from '../config/variables.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { programFile } from '../program-file.ts'
import { serverError } from '../server-error.ts'
import { SERVER_OPTIONS } from '../server-options.ts'

interface ServerFlags {
  readonly join?: string
  readonly replace?: boolean
}

/**
 * Adds a command that runs one server in the foreground. The server's output is passed on, except that an error which prevents
 * it from running is printed in words, with the exit code of that error.
 */
export function addServer(
  program: Command,
  name: Exclude<ServerCommand, 'up'>,
  script: string,
  description: string,
): Command {
  return program
    .command(name)
    .description(description)
    .addHelpText('after', () => variablesHelp(name))
    .action(async ({ join, replace = false }: ServerFlags) => {
      const child = spawn(process.execPath, [...SERVER_OPTIONS, programFile(script)], {
        // The server watches the IPC channel: it ends with this process, even if this process is killed.
        stdio: ['inherit', 'pipe', 'inherit', 'ipc'],
        env: {
          ...process.env,
          BERTH_DATA: resolve(dataDirectory()),
          ...defined({ BERTH_JOIN: join }),
          ...(replace ? { BERTH_AGENT_REPLACE: '1' } : {}),
        },
      })
      using interrupt = listenForInterrupt()
      interrupt.signal.addEventListener('abort', () => child.kill('SIGTERM'))
      const ended = once(child, 'exit') as Promise<[number | null]>
      let failure: Error | undefined
      for await (const line of createInterface({ input: outputOf(child) })) {
        failure ??= serverError(line)
        if (!failure) process.stdout.write(`${line}\n`)
      }
      const [code] = await ended
      if (failure) throw failure
      // A server that was asked to end before it handles signals has no exit code.
      process.exitCode = code ?? (interrupt.signal.aborted ? 0 : 1)
    })
}

function outputOf({ stdout }: ChildProcess): Readable {
  if (!stdout) throw new Error('the server has no standard output')
  return stdout
}
