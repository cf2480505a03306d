import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SLURM_EPILOG } from '../../slurm-epilog.ts'
import { probeSlurm } from './slurm.ts'

let commands: string
beforeEach(async () => {
  commands = await mkdtemp(join(tmpdir(), 'berth-slurm-'))
})
afterEach(() => rm(commands, { recursive: true }))

async function command(name: string, script: string): Promise<void> {
  await writeFile(join(commands, name), `#!/bin/sh\n${script}\n`)
  await chmod(join(commands, name), 0o755)
}
const scontrol = (script: string) => command('scontrol', script)
const config = (...lines: string[]) => scontrol(`cat <<'END'\nEpilogMsgTime = 2000 usec\n${lines.join('\n')}\nEND`)

test('the epilogs of Slurm are found, and whether one on this computer is the one of Berth', async () => {
  await config('Epilog[0]               = /nowhere/epilog.sh', 'ResvEpilog              = (null)')
  expect(await probeSlurm(commands)).toMatchObject({ epilogs: ['/nowhere/epilog.sh'], hasOwn: undefined })
  await writeFile(join(commands, 'own.sh'), '#!/bin/sh\n')
  await config(`Epilog                  = ${commands}/*.sh`)
  expect(await probeSlurm(commands)).toMatchObject({ epilogs: [`${commands}/*.sh`], hasOwn: false })
  await writeFile(join(commands, 'berth.sh'), SLURM_EPILOG)
  expect(await probeSlurm(commands)).toMatchObject({ hasOwn: true })
  await config(`Epilog                  = ${commands}/own.sh`)
  await writeFile(join(commands, 'own.sh'), '#!/bin/sh\n# Not /etc/slurm/berth-epilog.sh\n')
  expect(await probeSlurm(commands)).toMatchObject({ hasOwn: false })
  // An epilog of the site may call Berth's.
  await writeFile(join(commands, 'own.sh'), '#!/bin/sh\nclean-up\nexec /etc/slurm/berth-epilog.sh\n')
  expect(await probeSlurm(commands)).toMatchObject({ hasOwn: true })
  await config('Epilog                  = (null)')
  expect(await probeSlurm(commands)).toEqual({ epilogs: [], hasOwn: undefined, isHistoryThere: undefined })
})

test('the history is asked where Slurm keeps one', async () => {
  await command('sacct', 'echo "the history is asked" >&2; exit 1')
  await config('AccountingStorageType   = (null)')
  expect(await probeSlurm(commands)).toMatchObject({ isHistoryThere: undefined })
  await config('AccountingStorageType   = accounting_storage/slurmdbd')
  expect(await probeSlurm(commands)).toMatchObject({ isHistoryThere: false })
  await command('sacct', 'exit 0')
  expect(await probeSlurm(commands)).toMatchObject({ isHistoryThere: true })
})

test('a computer without Slurm, or whose Slurm does not answer, has nothing to check', async () => {
  expect(await probeSlurm(commands)).toBeUndefined()
  await scontrol('exit 1')
  expect(await probeSlurm(commands)).toBeUndefined()
})
