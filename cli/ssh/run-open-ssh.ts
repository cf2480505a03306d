import { spawn } from 'node:child_process'
import { AppError } from '#manager/contract'
import { knownTerminal } from './terminal-name.ts'

/** Runs a program of OpenSSH on this terminal. @returns its exit code @throws AppError `unavailable` if it cannot be started */
export async function runOpenSsh(program: string, args: readonly string[]): Promise<number> {
  const { TERM } = process.env
  const env = TERM === undefined ? process.env : { ...process.env, TERM: knownTerminal(TERM) }
  const child = spawn(program, args, { stdio: 'inherit', env })
  // Ctrl-C belongs to the remote program; OpenSSH handles it. A terminal sends it to both programs, `kill` only to this one.
  const pass = () => {
    if (!process.stdin.isTTY) child.kill('SIGINT')
  }
  process.on('SIGINT', pass)
  try {
    return await new Promise<number>((done, reject) => {
      child.once('exit', (code, signal) => done(code ?? (signal ? 1 : 0)))
      child.once('error', error =>
        reject(
          new AppError(
            'unavailable',
            { why: `The OpenSSH program "${program}" could not be started. Is it installed?` },
            { cause: error },
          ),
        ),
      )
    })
  } finally {
    process.off('SIGINT', pass)
  }
}
