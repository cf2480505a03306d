import { readdirSync, readFileSync } from 'node:fs'

/**
 * A STAND-IN for the driver's `nvidia-smi`, for machines without a GPU: one GPU whose memory and use are those of the stand-in programs that
 * run on this machine (`WORK` in stand-in.ts). It prints what driver 580 prints, and shows how Berth reads it, not how a driver counts.
 */
const UUID = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'
const MODEL = 'NVIDIA H100 80GB HBM3'
const TOTAL_MIB = 81_559

interface Work {
  readonly pid: number
  readonly mebibytes: number
  readonly percent: number
}

/** Programs `sh -c SCRIPT gpu-work MIB PERCENT`; a wrapper with the same words in one argument is none. */
function readWork(): Work[] {
  return readdirSync('/proc').flatMap((pid): Work[] => {
    if (!/^\d+$/.test(pid)) return []
    let words: string[]
    try {
      words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    } catch {
      return []
    }
    const [, flag, , name, mebibytes, percent] = words
    if (flag !== '-c' || name !== 'gpu-work') return []
    return [{ pid: Number(pid), mebibytes: Number(mebibytes), percent: Number(percent) }]
  })
}

const work = readWork()
const used = work.reduce((sum, { mebibytes }) => sum + mebibytes, 0)
const percent = Math.min(
  100,
  work.reduce((sum, one) => sum + one.percent, 0),
)

/** Values of `--query-gpu`; other fields are `[N/A]`. */
const FIELDS: Readonly<Record<string, string>> = {
  index: '0',
  uuid: UUID,
  name: MODEL,
  gpu_name: MODEL,
  driver_version: '580.159.04',
  'memory.total': `${TOTAL_MIB}`,
  'memory.used': `${used}`,
  'memory.free': `${TOTAL_MIB - used}`,
  'mig.mode.current': 'Disabled',
  'utilization.gpu': `${percent}`,
  'ecc.errors.uncorrected.volatile.total': '0',
  'ecc.errors.uncorrected.aggregate.total': '0',
  'temperature.gpu': '34',
  'clocks_event_reasons.active': '0x0000000000000001',
  'clocks_throttle_reasons.active': '0x0000000000000001',
}

function answer(args: readonly string[]): string {
  const queried = args.find(arg => arg.startsWith('--query-gpu='))?.split('=')[1]
  if (queried !== undefined)
    return queried
      .split(',')
      .map(field => FIELDS[field] ?? '[N/A]')
      .join(', ')
  if (args.includes('-L')) return `GPU 0: ${MODEL} (UUID: ${UUID})`
  if (args.some(arg => arg.startsWith('--query-compute-apps')))
    return work.map(one => `${UUID}, ${one.pid}, ${one.mebibytes}`).join('\n')
  if (args.includes('pmon')) return processMonitor(args.includes('um'))
  return ''
}

function processMonitor(withMemory: boolean): string {
  const memory = (text: string) => (withMemory ? text : '')
  const head = [
    `# gpu         pid   type     sm    mem    enc    dec    jpg    ofa   ${memory('  fb   ccpm   ')} command `,
    `# Idx           #    C/G      %      %      %      %      %      %   ${memory('  MB     MB   ')} name `,
  ]
  const rows = work.map(({ pid, mebibytes, percent: own }) => {
    const cell = own === 0 ? '-' : `${own}`
    return `    0    ${pid}     C     ${cell}      -      -      -      -      -   ${memory(`  ${mebibytes}      0   `)} python3 `
  })
  const none = `    0          -     -      -      -      -      -      -      -   ${memory('   -      -   ')} -              `
  return [...head, ...(rows.length > 0 ? rows : [none])].join('\n')
}

const args = process.argv.slice(2)
if (args[0] === 'memory-limits') {
  console.log('Invalid combination of input arguments. Please run nvidia-smi -h for help.')
  process.exitCode = 2
} else {
  const text = answer(args)
  if (text !== '') console.log(text)
}
