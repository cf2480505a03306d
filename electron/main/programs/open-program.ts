import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '#manager/contract'
import { type Program, type SshKit } from '#proxy/contract'
import { candidates, commandFor, type Command, type Found } from './program-table.ts'

export interface Programs {
  /** Programs of this computer that can open a session. */
  list(): Promise<readonly Program[]>
  /** @throws AppError `unavailable` where the program is missing or does not start */
  open(program: Program, kit: SshKit): Promise<void>
}

export interface ProgramsDeps {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Opens sessions in programs of this computer.
 *
 * Threat model: what the page sends chooses among the programs of the table, and names a session; file, arguments and paths are made
 * here (`program-table.ts`), and no shell reads them. The preload script passes the call on only while the user has just clicked or
 * typed, so that text of a container that runs as a script in the page starts nothing by itself.
 */
export function createPrograms({ platform, env }: ProgramsDeps): Programs {
  async function find(): Promise<readonly Found[]> {
    const found = new Map<Program, Found>()
    for (const one of candidates(platform, env)) {
      if (found.has(one.program)) continue
      const exists = await access(one.file, constants.X_OK).then(
        () => true,
        () => false,
      )
      if (exists) found.set(one.program, one)
    }
    return [...found.values()]
  }

  return {
    list: async () => (await find()).map(({ program }) => program),
    async open(program, kit) {
      const found = (await find()).find(one => one.program === program)
      const command = found && commandFor(found, { ...kit, port: kit.tunnel.port })
      if (!found) throw new AppError('unavailable', { why: 'This program was not found on this computer.' })
      if (!command)
        throw new AppError('unavailable', {
          why: 'This program finds the session only by your SSH configuration. Switch that on in the preferences.',
        })
      await start(command)
    },
  }
}

/** Starts a program that stays when the app ends. */
async function start({ file, args }: Command): Promise<void> {
  const child = spawn(file, [...args], { detached: true, stdio: 'ignore' })
  await new Promise<void>((started, failed) => {
    child.once('spawn', () => started())
    child.once('error', error =>
      failed(new AppError('unavailable', { why: `${path.basename(file)} did not start: ${error.message}` })),
    )
  })
  child.unref()
}
