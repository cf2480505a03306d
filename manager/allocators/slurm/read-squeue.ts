import { z } from 'zod'
import { cleanLine } from '#base/clean-text'
import { parseJson } from '#base/parse-json'
import { type Allocation, type AllocationEnd, type GrantedNode } from '../allocator.ts'

/** A number as Slurm 22.05 writes it, or as later versions do. */
const Numeric = z
  .union([
    z.number(),
    z.null(),
    z.object({ set: z.boolean(), infinite: z.boolean(), number: z.number() }).transform(({ set, infinite, number }) => {
      if (infinite) return Infinity
      return set ? number : null
    }),
  ])
  .optional()
  .transform(value => value ?? null)

/** The first word is the state; further words are flags such as COMPLETING. Slurm 22.05 has one word. */
const States = z
  .union([z.string().transform(word => [word]), z.array(z.string()).min(1)])
  .transform(words => words.map(word => word.toUpperCase()))

const Resources = z.object({
  // Slurm 22.05.
  allocated_nodes: z.array(z.object({ nodename: z.string() })).optional(),
  nodes: z.union([z.string(), z.object({ allocation: z.array(z.object({ name: z.string() })).optional() })]).optional(),
})

const Job = z.object({
  job_id: z.number(),
  name: z.string().nullish(),
  user_id: Numeric,
  user_name: z.string().nullish(),
  job_state: States,
  state_reason: z.string().nullish(),
  submit_time: Numeric,
  start_time: Numeric,
  end_time: Numeric,
  time_limit: Numeric,
  restart_cnt: Numeric,
  preempt_time: Numeric,
  gres_detail: z.array(z.string()).nullish(),
  job_resources: Resources.nullish(),
})
type Job = z.infer<typeof Job>

const Answer = z.object({ errors: z.array(z.unknown()).nullish(), jobs: z.array(Job) })

/** Ends of jobs by the states that `squeue` and `sacct` print. */
export const ENDS: Readonly<Record<string, AllocationEnd>> = {
  CANCELLED: 'cancelled',
  TIMEOUT: 'timeout',
  DEADLINE: 'timeout',
  PREEMPTED: 'preempted',
  NODE_FAIL: 'node_failed',
  FAILED: 'failed',
  BOOT_FAIL: 'failed',
  OUT_OF_MEMORY: 'out_of_memory',
  COMPLETED: 'completed',
}

export interface ReadOptions {
  /** Names of other jobs on the cluster do not begin with it. */
  readonly prefix: string
  /** This process's user; undefined: all jobs are taken for its own. */
  readonly uid: number | undefined
  /** Other users whose jobs are listed too. Jobs of all others are left out, whatever their names. */
  readonly users?: ReadonlySet<string>
}

/**
 * Reads the answer of `squeue --json` of Slurm 22.05 and later. Pure.
 *
 * @throws Error if the answer is not complete. Slurm 22.05 also answers with exit code 0, no jobs and `errors` while its controller is away.
 */
export function readSqueue(text: string, { prefix, uid, users }: ReadOptions): readonly Allocation[] {
  const { errors, jobs } = Answer.parse(parseJson(text))
  if (errors && errors.length > 0)
    throw new Error(`squeue answered with errors: ${JSON.stringify(errors).slice(0, 500)}`)
  return jobs.flatMap(job => {
    const { name, user_id: owner, user_name: user } = job
    if (!name?.startsWith(prefix)) return []
    if (uid === undefined || owner === null || owner === uid) return [toAllocation({ name, user: null }, job)]
    return user && users?.has(user) ? [toAllocation({ name, user }, job)] : []
  })
}

function toAllocation(of: Pick<Allocation, 'name' | 'user'>, job: Job): Allocation {
  const [state = '', ...flags] = job.job_state
  const identity = {
    id: String(job.job_id),
    submittedAt: timeOf(job.submit_time),
    startedAt: timeOf(job.start_time),
    restarts: job.restart_cnt ?? 0,
  }
  const end = ENDS[state]
  if (end) return { ...of, identity, state: 'ended', end }
  if (state === 'PENDING') {
    // The start time of a waiting job is an estimate, so it does not identify the job.
    const waiting = { ...identity, startedAt: null }
    return {
      ...of,
      identity: waiting,
      state: 'waiting',
      reason: cleanLine(job.state_reason ?? '', 200),
      expectedAt: dateOf(job.start_time),
    }
  }
  // While an epilog runs, Slurm 22.05 has COMPLETING as the only word.
  if (state !== 'RUNNING' || flags.some(flag => flag === 'COMPLETING' || flag === 'CONFIGURING'))
    return { ...of, identity, state: 'changing' }
  const isPreempted = timeOf(job.preempt_time) !== null
  return {
    ...of,
    identity,
    state: 'granted',
    nodes: nodesOf(job),
    isPreempted,
    // Slurm says of a job without a limit that it ends in a year.
    endsAt: isPreempted || isLimited(job) ? dateOf(job.end_time) : null,
  }
}

/** The largest numbers of Slurm 22.05 stand for no limit and for an unknown one. */
const LARGEST = 4_294_967_294
const isLimited = ({ time_limit: limit }: Job) => limit !== null && Number.isFinite(limit) && limit < LARGEST

/** 0 means unknown. */
const timeOf = (value: number | null) => (value === null || value === 0 || !Number.isFinite(value) ? null : value)

function dateOf(value: number | null): Date | null {
  const seconds = timeOf(value)
  return seconds === null ? null : new Date(seconds * 1000)
}

/** GPU indexes are listed by position: one text for each node, in the order of the nodes. */
function nodesOf({ job_resources: resources, gres_detail: gres }: Job): GrantedNode[] {
  const { allocated_nodes: old = [], nodes } = resources ?? {}
  const names =
    typeof nodes === 'object' ? (nodes.allocation ?? []).map(({ name }) => name) : old.map(({ nodename }) => nodename)
  return names.map((name, position) => ({ name, gpus: gpuIndexes(gres?.[position] ?? '') }))
}

/**
 * Indexes of GPUs in a text such as `gpu:a100:3(IDX:0-1,3)`. Other kinds of resources in the text are left out.
 */
export function gpuIndexes(text: string): number[] {
  return [...text.matchAll(/(?:^|,)gpu(?:[:/][^(,]*)?\(IDX:([\d,-]+)\)/g)].flatMap(([, list = '']) =>
    list.split(',').flatMap(part => {
      const [first = '', last = first] = part.split('-')
      const from = Number(first)
      return Array.from({ length: Math.max(0, Number(last) - from + 1) }, (_, index) => from + index)
    }),
  )
}
