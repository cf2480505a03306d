import { readdir, readFile } from 'node:fs/promises'

/** Clock ticks per second in `/proc/PID/stat`; the same on every Linux that Node runs on. */
export const TICKS_PER_SECOND = 100

/** The running process and all running processes below it. */
export const processesBelow = async (root: number): Promise<number[]> => (await readBelow(root)).map(({ pid }) => pid)

/** Processor time in ticks of the process and all below it, by role; children that have ended are counted with their parents. */
export async function ticksBelow(root: number): Promise<Map<string, number>> {
  const byRole = new Map<string, number>()
  for (const { role, ticks } of await readBelow(root)) byRole.set(role, (byRole.get(role) ?? 0) + ticks)
  return byRole
}

async function readBelow(
  root: number,
): Promise<{ readonly pid: number; readonly role: string; readonly ticks: number }[]> {
  const found = new Map<number, { parent: number; role: string; ticks: number }>()
  for (const name of await readdir('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const [stat, commandLine] = await Promise.all(
      ['stat', 'cmdline'].map(file => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
    )
    // The name of the program is in parentheses and may contain spaces; `utime stime cutime cstime` are fields 14 to 17.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
    if (fields.length < 15) continue
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    found.set(pid, { parent: Number(fields[1]), role: roleOf(commandLine ?? ''), ticks })
  }
  const isBelow = (pid: number): boolean => pid === root || (found.has(pid) && isBelow(found.get(pid)?.parent ?? 0))
  return [...found].filter(([pid]) => isBelow(pid)).map(([pid, { role, ticks }]) => ({ pid, role, ticks }))
}

function roleOf(commandLine: string): string {
  if (commandLine.includes('manager/main.ts')) return 'manager'
  if (commandLine.includes('agent/main.ts')) return 'agent'
  if (commandLine.includes('proxy/web/main.ts')) return 'proxy'
  return commandLine.includes('postgres') ? 'database' : 'supervisor'
}

/** Seconds in user and kernel mode of one process since its start. */
export async function processorSeconds(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}
