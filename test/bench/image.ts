import { readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { pack } from 'tar-stream'
import { docker } from '../fixtures/docker.ts'

const BASE = 'debian:trixie-slim'
/** Apps of the image: one for measuring tunnels, and a small web server. */
export const TCP_APP = { name: 'bench', port: 7000 }
export const HTTP_APP = { name: 'web', port: 7001 }

const NODE = ['/bench/node', '--disable-warning=ExperimentalWarning']
const APPS = [
  { ...TCP_APP, title: 'Bench', protocol: 'tcp', command: [...NODE, '/bench/tunnel-service.ts', '{port}'] },
  { ...HTTP_APP, title: 'Bench web', protocol: 'http', command: [...NODE, '/bench/http-service.ts', '{port}'] },
]

export interface BenchImage extends AsyncDisposable {
  readonly name: string
}

/** A session image of our own whose services are Node programs of this folder, run by the pinned Node. Removed at the end. */
export async function buildBenchImage(): Promise<BenchImage> {
  const name = `berth-bench/service:${process.pid}`
  const archive = pack()
  const put = (path: string, content: string | Buffer, mode: number) => archive.entry({ name: path, mode }, content)
  put('Dockerfile', `FROM ${BASE}\nCOPY bench /bench\n`, 0o644)
  put('bench/node', await readFile(await realpath(process.execPath)), 0o755)
  put('bench/package.json', '{"type":"module"}', 0o644)
  for (const script of ['tunnel-service.ts', 'http-service.ts']) {
    put(`bench/${script}`, await readFile(join(import.meta.dirname, script)), 0o644)
  }
  archive.finalize()
  const stream = await docker.buildImage(archive as unknown as NodeJS.ReadableStream, {
    t: name,
    labels: { 'berth.image.title': 'Bench', 'berth.image.apps': JSON.stringify(APPS) },
  })
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(stream, (error, output: { error?: string }[] | null) => {
      const failed = error?.message ?? output?.find(line => line.error !== undefined)?.error
      if (failed === undefined) resolve()
      else reject(new Error(`the image of the bench could not be built: ${failed}`))
    })
  })
  return { name, [Symbol.asyncDispose]: () => docker.getImage(name).remove({ force: true }) }
}
