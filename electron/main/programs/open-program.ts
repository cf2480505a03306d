import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { AppError, because } from '#manager/contract'
import { filezillaSite } from '#proxy'
import { needsSshConfig, type Program, type SshKit } from '#proxy/contract'
import { type Drives } from './drives.ts'
import {
  candidates,
  commandFor,
  type Command,
  type Found,
  GATEWAY_SCHEME,
  gatewayUrl,
  type Started,
} from './program-table.ts'

export interface Programs extends Pick<Drives, 'tunnelClosed' | 'close'> {
  /** Programs of this computer that can open a session. */
  list(): Promise<readonly Program[]>
  /** @throws AppError `unavailable` if the program is missing or does not start */
  open(program: Program, kit: SshKit): Promise<void>
}

export interface ProgramsDeps {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  readonly drives: Drives
  /** Programs that the operating system knows by the scheme of their addresses. */
  readonly schemes: { has(scheme: string): boolean; open(url: string): Promise<void> }
  /** For the configuration of FileZilla. */
  readonly folder: string
}

/**
 * Opens sessions in programs of this computer.
 *
 * Threat model: what the page sends chooses among the programs of the table, and names a session; file, arguments and paths are made
 * here (`program-table.ts`), and no shell reads them. The preload script passes the call on only while the user has just clicked or
 * typed, so that text of a container that runs as a script in the page starts nothing by itself.
 */
export function createPrograms({ platform, env, drives, schemes, folder }: ProgramsDeps): Programs {
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

  async function start(program: Started, file: string, kit: SshKit): Promise<void> {
    const filezillaFolder = path.join(folder, 'filezilla')
    if (program === 'filezilla') await writeSite(filezillaFolder, kit)
    await spawnDetached(
      commandFor({ program, file }, { ...kit, port: kit.tunnel.port, filezillaFolder }, platform),
      env,
    )
  }

  return {
    async list() {
      const found = (await find()).map(({ program }) => program)
      return schemes.has(GATEWAY_SCHEME) ? [...found, 'gateway'] : found
    },
    async open(program, kit) {
      if (needsSshConfig(program, platform) && !kit.configInstalled)
        throw new AppError('unavailable', because('program_needs_ssh_config'))
      const isGateway = program === 'gateway' && schemes.has(GATEWAY_SCHEME)
      if (isGateway) return schemes.open(gatewayUrl({ ...kit, port: kit.tunnel.port }))
      const file = (await find()).find(one => one.program === program)?.file
      if (program === 'gateway' || file === undefined) throw new AppError('unavailable', because('program_not_found'))
      await (program === 'drive' ? drives.open(file, kit) : start(program, file, kit))
    },
    tunnelClosed: id => drives.tunnelClosed(id),
    close: () => drives.close(),
  }
}

/**
 * Site manager of a FileZilla with its own configuration: one site, which logs on with the session's key. Settings, and host keys that the
 * user has accepted, are kept there.
 */
async function writeSite(folder: string, kit: SshKit): Promise<void> {
  const keyFile = kit.identityFile === null ? 'id_container' : `${kit.identityFile}.ppk`
  const site = filezillaSite({ name: kit.hostAlias, port: kit.tunnel.port, user: kit.user, keyFile })
  await mkdir(path.join(folder, 'filezilla'), { recursive: true, mode: 0o700 })
  await writeFile(path.join(folder, 'filezilla/sitemanager.xml'), site, { mode: 0o600 })
}

/** Starts a program that stays when the app ends. */
async function spawnDetached({ file, args, env: added }: Command, env: ProgramsDeps['env']): Promise<void> {
  const child = spawn(file, [...args], { detached: true, stdio: 'ignore', env: { ...env, ...added } })
  await new Promise<void>((started, failed) => {
    child.once('spawn', () => started())
    child.once('error', ({ message: text }) =>
      failed(new AppError('unavailable', because('program_not_started', { program: path.basename(file), text }))),
    )
  })
  child.unref()
}
