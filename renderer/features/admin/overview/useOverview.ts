import { onBeforeMount, onBeforeUnmount, ref, shallowRef } from 'vue'
import {
  type Backups,
  type ConsoleCertificate,
  type Overview,
  type Scheduling,
  type SystemSettings,
} from '#manager/contract'
import { useServices } from '../../../services.ts'

const GATHER_MS = 1_000
/** Figures of GPUs come without hints. */
const FRESH_MS = 60_000

/** What is set up once: asked for when the page opens, not with every change of a session. */
export interface SetUp {
  readonly settings: Pick<SystemSettings, 'mailReady' | 'publicUrl'>
  readonly backups: Pick<Backups, 'nextAt' | 'last'>
  readonly certificates: readonly Pick<ConsoleCertificate, 'state'>[]
}

/** The figures of the overview, kept up to date. `error` is that of the last attempt; older figures stay beside it. */
export function useOverview(isSuperadmin: boolean) {
  const { api, events } = useServices()
  const overview = shallowRef<Overview | null>(null)
  const scheduling = shallowRef<Scheduling | null>(null)
  const setUp = shallowRef<SetUp | null>(null)
  const error = ref<unknown>(null)

  let round = 0
  async function loadFigures(): Promise<void> {
    const mine = ++round
    const [all, switched] = await Promise.all([api.getOverview(), api.getScheduling()])
    if (mine !== round) return
    overview.value = all
    scheduling.value = switched
  }
  async function loadSetUp(): Promise<void> {
    if (!isSuperadmin) return
    const [settings, backups, { items: certificates }] = await Promise.all([
      api.getSettings(),
      api.listBackups(),
      api.listCertificates(),
    ])
    setUp.value = { settings, backups, certificates }
  }
  async function attempt(load: () => Promise<unknown>): Promise<void> {
    try {
      await load()
      error.value = null
    } catch (cause) {
      error.value = cause
    }
  }
  const refresh = () => attempt(loadFigures)
  const load = () => attempt(() => Promise.all([loadFigures(), loadSetUp()]))

  let gathering: ReturnType<typeof setTimeout> | undefined
  const stops = [
    events.onHint(({ topic }) => {
      if (topic !== 'session' && topic !== 'agent' && topic !== 'resources' && topic !== 'user') return
      gathering ??= setTimeout(() => {
        gathering = undefined
        void refresh()
      }, GATHER_MS)
    }),
    events.onResync(() => void load()),
  ]
  const timer = setInterval(() => document.hidden || void refresh(), FRESH_MS)
  onBeforeMount(() => void load())
  onBeforeUnmount(() => {
    stops.forEach(stop => stop())
    clearTimeout(gathering)
    clearInterval(timer)
  })
  return { overview, scheduling, setUp, error, load }
}
