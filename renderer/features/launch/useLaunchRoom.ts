import { computed, onMounted, ref, watch, type Ref } from 'vue'
import { DEFAULT_RESOURCE_GROUP, parseSlots, type User } from '#manager/contract'
import { useFetched } from '../../data/fetched.ts'
import { useServices } from '../../services.ts'
import { useAccount } from '../../data/account/useAccount.ts'
import { useResources } from '../../data/sessions/useResources.ts'
import { type LaunchForm } from './launch-form.ts'

/**
 * The capacity for the session: agents of the resource group, limits of the project, presets. Everything is fetched again when the choice
 * changes, and when an event hint reports another change.
 */
export function useLaunchRoom(form: Ref<LaunchForm>, owner: Readonly<Ref<User | null>>) {
  const { api } = useServices()
  const account = useAccount()
  const overall = useResources()
  const listing = useFetched({
    fetch: async (_, signal) => (await api.listResourceGroups({ signal })).items,
    atOnce: false,
  })
  const resourceGroups = computed(() => listing.value.value ?? [])
  /** Settings of the chosen resource group if Slurm runs it. */
  const slurm = computed(() => {
    const group = resourceGroups.value.find(({ name }) => name === form.value.resourceGroup)
    return group?.engine === 'slurm' ? (group.options.slurm ?? {}) : undefined
  })
  const listed = ref(false)

  const projects = computed(() => (owner.value ?? account.user)?.groups ?? [])
  const query = computed(() => {
    const group = form.value.project || projects.value[0]?.id
    return {
      resourceGroup: form.value.resourceGroup,
      ...(group ? { group } : {}),
      ...(owner.value ? { owner: owner.value.id } : {}),
    }
  })
  const offered = useFetched({
    key: () => query.value,
    async fetch(asked, signal) {
      const [figures, sizes] = await Promise.all([
        api.getResources({ query: asked, signal }).catch(() => null),
        api.listPresets({ query: asked, signal }).catch(() => null),
      ])
      return { asked, figures, presets: sizes?.items ?? [] }
    },
    keeps: true,
    atOnce: false,
  })
  const resources = computed(() => offered.value.value?.figures ?? overall.resources)
  const presets = computed(() => offered.value.value?.presets ?? [])
  /** True once the figures belong to the choice in the form, or fetching them has failed. Until then, they must not be used for it. */
  const ready = computed(
    () => listed.value && JSON.stringify(offered.value.value?.asked) === JSON.stringify(query.value),
  )
  const room = computed(() => ({
    largest: parseSlots(resources.value?.largest ?? {}),
    free: parseSlots(resources.value?.free ?? {}),
    left: parseSlots(resources.value?.left ?? {}),
    sessionsLeft: resources.value?.sessionsLeft ?? null,
    partsHold: resources.value?.partsHold ?? null,
    // A manager of an older version does not tell them.
    sharedGpus: resources.value?.sharedGpus ?? [],
    gpus: resources.value?.gpus ?? [],
    gpuLimits: resources.value?.gpuLimits ?? [],
  }))

  /** Keeps the form's project if it can still be chosen; otherwise selects the manager's default. */
  function settleProject(): void {
    const mine = projects.value
    const project = mine.find(({ id }) => id === form.value.project) ?? mine.find(({ name }) => name === 'default')
    form.value.project = mine.length > 1 ? ((project ?? mine[0])?.id ?? '') : ''
  }
  /** Keeps the form's resource group if it can still be chosen; otherwise selects the default or the first active one. */
  function settleResourceGroup(): void {
    const usable = resourceGroups.value.filter(({ active }) => active)
    const named = (name: string) => usable.find(group => group.name === name)
    const chosen = named(form.value.resourceGroup) ?? named(DEFAULT_RESOURCE_GROUP) ?? usable[0]
    form.value.resourceGroup = chosen?.name ?? DEFAULT_RESOURCE_GROUP
  }

  /** Fetches the resource groups and, in parallel, the capacity of the group that will probably be chosen. */
  async function begin(): Promise<void> {
    settleProject()
    void offered.again()
    await listing.again()
    settleResourceGroup()
    listed.value = true
  }

  onMounted(() => void begin())
  // Another owner has other projects and limits.
  watch(owner, settleProject)
  watch(
    () => overall.resources,
    () => {
      if (ready.value) void offered.again()
    },
  )

  return { resources, room, presets, projects, resourceGroups, slurm, ready }
}
