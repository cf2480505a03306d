import { defineStore } from 'pinia'
import { computed, ref, watch } from 'vue'
import { parseJson } from '#base/parse-json'
import { type Resources } from '#manager/contract'
import { useServices } from '../../services.ts'
import { useFetched } from '../fetched.ts'

const KEY = 'berth.resource-group'
/** Record of the last known group names, so that the selector can be shown before they are fetched. */
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
  const { api } = useServices()
  const names = ref(readKnown())
  /** True once the manager has answered or failed, and from the start if the groups are known from earlier. */
  const isKnown = ref(globalThis.localStorage.getItem(KNOWN) !== null)
  const chosenName = ref(globalThis.localStorage.getItem(KEY))
  /** A person with one group has no choice. */
  const chosen = computed(() => {
    if (names.value.length < 2) return null
    return names.value.find(name => name === chosenName.value) ?? null
  })
  /** True once `follow` was called: no figures are fetched before. */
  const followed = ref(false)
  const { value: figures } = useFetched({
    key: () => (followed.value ? (chosen.value ?? undefined) : undefined),
    fetch: (resourceGroup, signal) => api.getResources({ query: { resourceGroup }, signal }),
    topics: ['resources', 'agent', 'session'],
  })
  // The page works without the list. A failure of the manager is shown by the parts that need its answers.
  const list = useFetched({
    fetch: async (_, signal) => (await api.listResourceGroups({ signal })).items,
    topics: ['resources'],
    atOnce: false,
  })
  watch(
    list.value,
    items => {
      if (!items) return
      names.value = items.filter(({ active }) => active).map(({ name }) => name)
      globalThis.localStorage.setItem(KNOWN, JSON.stringify(names.value))
    },
    { flush: 'sync' },
  )
  async function load(): Promise<void> {
    await list.again()
    isKnown.value = true
  }
  /** Begins to fetch the figures of the chosen group. */
  const follow = () => (followed.value = true)

  /** The project whose limits count in the menu. */
  let project: string | null = null
  const rooms = useFetched({
    async fetch(_, signal) {
      const answers = await Promise.all(
        names.value.map(async name => {
          const query = { resourceGroup: name, ...(project === null ? {} : { group: project }) }
          const figures = await api.getResources({ query, signal }).catch(() => null)
          return [name, figures] as const
        }),
      )
      return new Map(answers.flatMap(([name, figures]) => (figures ? [[name, figures]] : [])))
    },
    atOnce: false,
  })
  /** Figures of groups by name, as of the time when the menu was opened. */
  const room = computed((): ReadonlyMap<string, Resources> => rooms.value.value ?? new Map<string, Resources>())
  /** Fetches what is free in each group, for the menu. @param group the project whose limits count */
  async function check(group: string | null): Promise<void> {
    if (names.value.length < 2) return
    project = group
    await rooms.again()
  }

  function choose(name: string | null): void {
    chosenName.value = name
    if (name === null) globalThis.localStorage.removeItem(KEY)
    else globalThis.localStorage.setItem(KEY, name)
  }
  return { names, isKnown, chosen, room, figures, load, check, follow, choose }
})
