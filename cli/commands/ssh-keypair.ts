import { rm, writeFile } from 'node:fs/promises'
import { type Command } from 'commander'
import { type ApiClient, AppError, type NewSshKeypair, type SshKeypair } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { readInputFile } from '../input-file.ts'
import { createOutput } from '../output.ts'
import { readStandardInput } from '../secret-input.ts'

interface KeyFlags {
  out?: string
  json?: boolean
}

/** Adds `berth ssh-keypair …`: the user's own SSH key, authorised in sessions that start from now on. */
export function addSshKeypairCommands(program: Command): void {
  const keypair = program.command('ssh-keypair').description('Your own SSH key for your sessions.')

  keypair
    .command('show')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: KeyFlags) => {
      const { api } = await connect()
      const key = await api.getSshKeypair()
      createOutput(json).data(key, () => describe(key))
    })

  keypair
    .command('generate')
    .description('Make a new key pair. The private key is shown only this once and is not stored.')
    .option('--out <file>', 'write the private key to FILE (mode 0600) and the public key to FILE.pub')
    .option('--json', 'print JSON')
    .action(async ({ out, json = false }: KeyFlags) => {
      const { api } = await connect()
      const made = out === undefined ? await api.generateSshKeypair() : await generateInto(out, api)
      const { privateKey: _, ...open } = made
      createOutput(json).data(out === undefined ? made : open, () =>
        out === undefined ? made.privateKey : describe(open),
      )
    })

  keypair
    .command('set <file>')
    .description('Upload your public key: a .pub file, or - for standard input.')
    .option('--json', 'print JSON')
    .action(async (file: string, { json = false }: KeyFlags) => {
      const { api } = await connect()
      const publicKey = file === '-' ? await readStandardInput() : (await readInputFile(file)).toString('utf8')
      const key = await api.setSshPublicKey({ body: { publicKey } })
      createOutput(json).data(key, () => describe(key))
    })

  keypair
    .command('rm')
    .description('Remove your key. Running sessions keep it.')
    .action(async () => {
      const { api } = await connect()
      await api.deleteSshKeypair()
    })
}

const describe = ({ publicKey, fingerprint }: SshKeypair) =>
  publicKey === null ? 'You have no SSH key of your own.' : `${publicKey}\n${fingerprint ?? ''}`

/**
 * Creates both files or none. They are created before the key: an existing file is never overwritten, and a wrong path costs no
 * key.
 */
async function generateInto(file: string, api: ApiClient): Promise<NewSshKeypair> {
  using interrupt = listenForInterrupt()
  await using files = new AsyncDisposableStack()
  await create(files, file, 0o600)
  await create(files, `${file}.pub`, 0o644)
  const made = await api.generateSshKeypair({ signal: interrupt.signal })
  await writeFile(file, made.privateKey)
  await writeFile(`${file}.pub`, `${made.publicKey}\n`)
  files.move()
  return made
}

async function create(files: AsyncDisposableStack, file: string, mode: number): Promise<void> {
  await writeFile(file, '', { mode, flag: 'wx' }).catch((error: unknown) => {
    throw new AppError('bad_request', { why: `${file} already exists or cannot be written.` }, { cause: error })
  })
  files.defer(() => rm(file, { force: true }))
}
