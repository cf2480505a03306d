import { type Command } from 'commander'
import { defined } from '#base/defined'
import { countedMemory, type GpuLimitUse, type GpuStock, isOfModel } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'

interface ListFlags {
  resourceGroup?: string
  json?: boolean
}

/** Adds `berth gpu ls`. */
export function addGpuCommands(program: Command): void {
  program
    .command('gpu')
    .description('GPUs to choose from.')
    .command('ls')
    .description('List the models of GPUs that your sessions can get, and how many are free.')
    .option('--resource-group <name>', 'resource group')
    .option('--json', 'print JSON')
    .action(async ({ json = false, resourceGroup }: ListFlags) => {
      const { api } = await connect()
      const { gpus, gpuLimits = [] } = await api.getResources({ query: defined({ resourceGroup }) })
      createOutput(json).data(gpus, () => (gpus.length === 0 ? NONE : gpuTable(gpus, gpuLimits)))
    })
}

const NONE = 'No GPU is on a host that takes sessions now.'

const gpuTable = (gpus: readonly GpuStock[], limits: readonly GpuLimitUse[]) =>
  table(
    ['MODEL', 'MEMORY', 'MODE', 'FREE', 'TOTAL', ...(limits.length === 0 ? [] : ['YOUR LIMIT LEAVES'])],
    gpus.map(({ model, memBytes, mode, free, total }) => [
      model,
      memBytes > 0 ? `${countedMemory(memBytes) / 2 ** 30} GiB` : '–',
      mode,
      free,
      String(total),
      ...(limits.length === 0 ? [] : [leftOf({ model, isMig: mode === 'mig' }, limits)]),
    ]),
  )

/** GPUs of this kind that the limits still allow: the smallest remainder among the limits that apply to them. */
function leftOf(kind: { readonly model: string; readonly isMig: boolean }, limits: readonly GpuLimitUse[]): string {
  const [least] = limits
    .filter(({ model }) => isOfModel(model, kind))
    .toSorted((a, b) => Number(a.left) - Number(b.left))
  return least ? `${least.left} of ${least.limit}` : '∞'
}
