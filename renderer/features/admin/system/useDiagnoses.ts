import { computed, onScopeDispose, type Ref, ref, shallowReactive } from 'vue'
import { type AgentSummary, type ApiClient, type Diagnosis, type Manager } from '#manager/contract'

/** Number of hosts checked at once: each check starts a process there, and some wait for a disk or a driver. */
const AT_ONCE = 4

export type DiagnosisState =
  | { readonly kind: 'checking' }
  | { readonly kind: 'done'; readonly diagnosis: Diagnosis }
  | { readonly kind: 'failed'; readonly error: unknown }

export type CheckedAgent = Pick<AgentSummary, 'id' | 'name' | 'status'>

/** A manager or an agent to be checked. */
export type Patient = { readonly key: string } & (
  | { readonly manager: Manager; readonly agent: null }
  | { readonly manager: null; readonly agent: CheckedAgent }
)

/** Runs `berth doctor` for managers and agents, and keeps the results. A host that hangs does not delay the others. */
export function useDiagnoses(api: ApiClient, managers: Ref<readonly Manager[]>, agents: Ref<readonly CheckedAgent[]>) {
  const states = shallowReactive(new Map<string, DiagnosisState>())
  const running = ref(false)
  const done = ref(0)
  let stop = new AbortController()

  const patients = computed<Patient[]>(() => [
    ...managers.value.map(manager => ({ key: manager.id, manager, agent: null })),
    ...agents.value.map(agent => ({ key: agent.id, manager: null, agent })),
  ])
  const reachable = computed(() => patients.value.filter(({ agent }) => agent === null || agent.status === 'CONNECTED'))
  /** Hosts with problems come first; in the same state, managers come before agents. */
  const sorted = computed(() => patients.value.toSorted((a, b) => rankOf(a) - rankOf(b)))

  function rankOf({ key, agent }: Patient): number {
    const state = states.get(key)
    if (state?.kind === 'failed') return 0
    if (state?.kind === 'done') return { problem: 0, warning: 2, ok: 4 }[state.diagnosis.level]
    return agent?.status === 'LOST' ? 1 : 3
  }

  async function check({ key, manager, agent }: Patient): Promise<void> {
    if (states.get(key)?.kind === 'checking') return
    const { signal } = stop
    const before = states.get(key)
    states.set(key, { kind: 'checking' })
    try {
      const diagnosis = agent
        ? await api.diagnoseAgent({ params: { id: agent.id }, signal })
        : await api.diagnoseManager({ params: { id: manager.id }, signal })
      states.set(key, { kind: 'done', diagnosis })
    } catch (error) {
      if (!signal.aborted) states.set(key, { kind: 'failed', error })
      else if (before) states.set(key, before)
      else states.delete(key)
    }
  }

  async function checkAll(): Promise<void> {
    if (running.value) return
    running.value = true
    done.value = 0
    const { signal } = stop
    const waiting = [...reachable.value]
    const work = async () => {
      for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift()) {
        await check(next)
        done.value++
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    running.value = false
  }

  function cancel(): void {
    stop.abort()
    stop = new AbortController()
  }
  onScopeDispose(cancel)

  return { states, sorted, reachable, running, done, check, checkAll, cancel }
}
