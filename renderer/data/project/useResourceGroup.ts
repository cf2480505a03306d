import { defineStore } from 'pinia'
import { computed, ref, shallowRef, watch } from 'vue'
import { parseJson, type ResourceGroup, type Resources } from '#manager/contract'
import { createPaced } from '../../api/paced.ts'
import { useServices } from '../../services.ts'

/** Milliseconds in which hints are gathered, because changes of sessions arrive in groups. */
const GATHER_MS = 250
const BUSY_MS = 2_000
const KEY = 'berth.resource-group'
/** Names of the groups as they were known last, so that the selector is there before they are fetched. */
const KNOWN = 'berth.resource-groups'

function readKnown(): readonly string[] {
  const names = parseJson(globalThis.localStorage.getItem(KNOWN) ?? '[]')
  return Array.isArray(names) ? names.filter(name => typeof name === 'string') : []
}

/**
 * The resource group with which the launch dialog begins, and whose figures the gauges show: a set of agents. Null for none in particular. Remembered on this
 * computer; a group that the person may not use any more counts as none.
 */
export const useResourceGroup = defineStore('resource-group', () => {
  const { api, events } = useServices()
  const names = ref(readKnown())
  /** True once the manager has answered, or could not; also where the groups are known from before. */
  const isKnown = ref(globalThis.localStorage.getItem(KNOWN) !== null)
  const chosenName = ref(globalThis.localStorage.getItem(KEY))
  /** Figures of groups by name, as they were when the menu was opened. */
  const room = shallowRef<ReadonlyMap<string, Resources>>(new Map())
  /** A person with one group has no choice. */
  const chosen = computed(() => {
    if (names.value.length < 2) return null
    return names.value.find(name => name === chosenName.value) ?? null
  })
  const held = shallowRef<{ readonly name: string; readonly figures: Resources } | null>(null)
  /** Capacity and use of the chosen group, once they are known. Kept current by event hints after `follow`. */
  const figures = computed(() => (held.value && held.value.name === chosen.value ? held.value.figures : null))
  let hasBegun = false
  let isFollowed = false

  async function load(): Promise<void> {
    hasBegun = true
    // The page works without the list. A failure of the manager is shown by the parts that need its answers.
    const answer = await api.listResourceGroups().catch(() => null)
    isKnown.value = true
    if (!answer) return
    names.value = answer.items.filter(({ active }: ResourceGroup) => active).map(({ name }) => name)
    globalThis.localStorage.setItem(KNOWN, JSON.stringify(names.value))
  }
  /** @returns whether it succeeded */
  async function loadFigures(): Promise<boolean> {
    const name = chosen.value
    if (!isFollowed || name === null) return true
    const answer = await api.getResources({ query: { resourceGroup: name } }).catch(() => null)
    if (answer && name === chosen.value) held.value = { name, figures: answer }
    return answer !== null
  }
  const figuresAgain = createPaced({ gatherMs: GATHER_MS, busyMs: BUSY_MS, run: loadFigures })
  /** Begins to fetch the figures of the chosen group. */
  function follow(): void {
    isFollowed = true
    void loadFigures()
  }
  watch(chosen, () => void loadFigures())
  events.onHint(({ topic }) => {
    if (topic === 'resources' && hasBegun) void load()
    if (topic === 'resources' || topic === 'agent' || topic === 'session') figuresAgain.ask()
  })
  events.onResync(() => {
    if (hasBegun) void load()
    figuresAgain.ask()
  })

  /** Fetches what is free in each group, for the menu. @param group the project whose limits count */
  async function look(group: string | null): Promise<void> {
    if (names.value.length < 2) return
    const answers = await Promise.all(
      names.value.map(async name => {
        const query = { resourceGroup: name, ...(group === null ? {} : { group }) }
        const figures = await api.getResources({ query }).catch(() => null)
        return [name, figures] as const
      }),
    )
    room.value = new Map(answers.flatMap(([name, figures]) => (figures ? [[name, figures]] : [])))
  }

  function choose(name: string | null): void {
    chosenName.value = name
    if (name === null) globalThis.localStorage.removeItem(KEY)
    else globalThis.localStorage.setItem(KEY, name)
  }
  return { names, isKnown, chosen, room, figures, load, look, follow, choose }
})
