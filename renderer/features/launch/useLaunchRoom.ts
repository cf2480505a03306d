import { computed, onMounted, ref, shallowRef, watch, type Ref } from 'vue'
import {
  DEFAULT_RESOURCE_GROUP,
  parseSlots,
  type Preset,
  type ResourceGroup,
  type Resources,
  type User,
} from '#manager/contract'
import { useServices } from '../../services.ts'
import { useAccount } from '../../data/account/useAccount.ts'
import { useResources } from '../../data/sessions/useResources.ts'
import { type LaunchForm } from './launch-form.ts'

/**
 * The place of the session and what it offers: agents of the resource group, limits of the project, presets. Everything is
 * fetched again when the choice changes, and when an event hint reports another change.
 */
export function useLaunchRoom(form: Ref<LaunchForm>, owner: Readonly<Ref<User | null>>) {
  const { api } = useServices()
  const account = useAccount()
  const overall = useResources()
  const resourceGroups = shallowRef<readonly ResourceGroup[]>([])
  const own = shallowRef<Resources | null>(null)
  const presets = shallowRef<readonly Preset[]>([])
  /** True once the figures belong to the choice in the form, or fetching them has failed. */
  const ready = ref(false)
  const listed = ref(false)
  let asked = 0

  const projects = computed(() => (owner.value ?? account.user)?.groups ?? [])
  const resources = computed(() => own.value ?? overall.resources)
  const room = computed(() => ({
    largest: parseSlots(resources.value?.largest ?? {}),
    free: parseSlots(resources.value?.free ?? {}),
    left: parseSlots(resources.value?.left ?? {}),
    sessionsLeft: resources.value?.sessionsLeft ?? null,
    partsHold: resources.value?.partsHold ?? null,
  }))

  /** Keeps the form's project if it can still be chosen; otherwise selects the one that the manager would take. */
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

  function fetchRoom() {
    const group = form.value.project || projects.value[0]?.id
    const query = {
      resourceGroup: form.value.resourceGroup,
      ...(group ? { group } : {}),
      ...(owner.value ? { owner: owner.value.id } : {}),
    }
    return Promise.all([api.getResources({ query }).catch(() => null), api.listPresets({ query }).catch(() => null)])
  }
  async function load(room = fetchRoom()): Promise<void> {
    const turn = ++asked
    const [figures, sizes] = await room
    if (turn !== asked) return
    own.value = figures
    presets.value = sizes?.items ?? []
    ready.value = true
  }

  /** Fetches the resource groups and, in parallel, the room in the group that will most likely be chosen. */
  async function begin(): Promise<void> {
    settleProject()
    const likely = form.value.resourceGroup
    const room = fetchRoom()
    resourceGroups.value = await api.listResourceGroups().then(
      ({ items }) => items,
      () => [],
    )
    settleResourceGroup()
    listed.value = true
    await load(form.value.resourceGroup === likely ? room : undefined)
  }

  onMounted(() => void begin())
  // At once: nobody may take the figures for those of the new choice.
  watch(
    () => [form.value.resourceGroup, form.value.project] as const,
    ([resourceGroup, project], [resourceGroupBefore, projectBefore]) => {
      if (!listed.value || (resourceGroup === resourceGroupBefore && project === projectBefore)) return
      ready.value = false
      void load()
    },
    { flush: 'sync' },
  )
  // Another owner has other projects and limits.
  watch(owner, () => {
    if (!listed.value) return
    settleProject()
    ready.value = false
    void load()
  })
  watch(
    () => overall.resources,
    () => {
      if (ready.value) void load()
    },
  )

  return { resources, room, presets, projects, resourceGroups, ready }
}
