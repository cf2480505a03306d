import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { defined } from '#base/defined'

/** Where npm of this computer finds its packages, for a build that uses npm in a container. */
export interface NpmSettings {
  /** Undefined: npm is not installed here, and its default is used. */
  readonly registry?: string
  /** Certificates in PEM that npm trusts besides the usual ones; empty if there are none. */
  readonly certificates: string
}

/** @throws Error if the file of certificates that npm names cannot be read */
export async function readNpmSettings(env: NodeJS.ProcessEnv = process.env): Promise<NpmSettings> {
  const [registry, cafile] = await Promise.all([npmSetting('registry', env), npmSetting('cafile', env)])
  const file = cafile ?? env['NODE_EXTRA_CA_CERTS']
  return {
    ...defined({ registry }),
    certificates: file === undefined || file === '' ? '' : readFileSync(file, 'utf8'),
  }
}

async function npmSetting(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    // On Windows npm is a script, which only a shell starts; the arguments are fixed words.
    const { stdout } = await promisify(execFile)('npm', ['config', 'get', name], {
      env,
      shell: process.platform === 'win32',
    })
    const value = stdout.trim()
    return value === '' || value === 'null' || value === 'undefined' ? undefined : value
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
