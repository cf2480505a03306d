import { computed, type Ref, ref, shallowRef, watch } from 'vue'
import { type Image, type SessionSpec, type User } from '#manager/contract'
import { logError } from '../../ui/error-log.ts'
import { useAccount } from '../../data/account/useAccount.ts'
import { chosenPlace } from '../../data/project/chosen-place.ts'
import { useFolders } from '../../data/folders/useFolders.ts'
import { useLaunch } from '../../data/launch/useLaunch.ts'
import { useResources } from '../../data/sessions/useResources.ts'
import { firstChoices } from './first-choices.ts'
import {
  applied,
  type AppliedDefaults,
  defaultsFor,
  defaultsOf,
  withDefaults,
  withoutDefaults,
} from './image-defaults.ts'
import { imageNamed } from './image-named.ts'
import { atMost, defaultForm, fitForm, formLike, type LaunchForm } from './launch-form.ts'
import { recall } from './remembered.ts'
import { formOf, refilled } from './repeated.ts'
import { useImageDefaults } from './useImageDefaults.ts'
import { useLaunchRoom } from './useLaunchRoom.ts'
import { useTemplates } from './useTemplates.ts'

const isSame = (a: object, b: object) => JSON.stringify(a) === JSON.stringify(b)

/**
 * The form of the launch dialog, and everything that fills it: the last launch, a session to repeat, the default template, the user's
 * own defaults for the chosen image.
 *
 * @param taken names of live sessions
 */
export function useFilledForm(owner: Readonly<Ref<User | null>>, taken: Readonly<Ref<ReadonlySet<string>>>) {
  const account = useAccount()
  const launch = useLaunch()
  const resources = useResources()
  const folders = useFolders()

  const last = recall(account.user?.id)
  const chosen = chosenPlace()
  const form = ref<LaunchForm>({
    ...defaultForm(undefined, {}),
    ...(last ? { project: last.project ?? '', resourceGroup: last.resourceGroup ?? '' } : {}),
    ...chosen,
    ...(launch.like ? formLike(launch.like) : {}),
    opens: last?.opens ?? '',
  })
  const place = useLaunchRoom(form, owner)
  const image = computed(() => imageNamed(resources.images, form.value.image))
  const filled = ref(false)
  const own = useImageDefaults()
  /** Changes to the form made by the defaults of the chosen image. */
  let ownApplied: AppliedDefaults | null = null
  /** Amounts chosen together with another project or resource group, whose capacity is not known yet. */
  let awaited: Partial<LaunchForm> = {}
  /** The initial template; undefined until known, null for none. */
  const preferred = shallowRef<SessionSpec | null | undefined>(launch.like ? null : undefined)

  // Fill the form once, when images and limits are first known. Later updates do not overwrite typed values.
  watch(
    () => [resources.images, place.resources.value, place.ready.value, preferred.value] as const,
    ([images, known, placed, template]) => {
      if (filled.value || !images || !known || !placed || template === undefined) return
      filled.value = true
      if (template && imageNamed(images, template.image)) {
        fill({ ...formOf(template, folders.byId), ...chosen })
        return
      }
      const { largest, left } = place.room.value
      const { wish, start } = firstChoices(images, {
        like: launch.like,
        last,
        form: form.value,
        most: atMost(largest, left),
      })
      if (launch.like) form.value = fitForm(wish, start, largest, left)
      else beginWith(wish, start)
    },
    { immediate: true },
  )
  // Another project or resource group has other limits and other agents.
  watch(place.ready, ready => {
    if (!ready || !filled.value) return
    form.value = fitForm({ ...form.value, ...awaited }, image.value, place.room.value.largest, place.room.value.left)
    awaited = {}
  })
  // A remembered folder may have been deleted since. In a copy of a session it stays, marked as a mistake.
  watch(
    () => [folders.mountable, filled.value] as const,
    ([mountable, isFilled]) => {
      if (!mountable || !isFilled || launch.like) return
      const kept = stillMountable(form.value.folders)
      if (!isSame(kept, form.value.folders)) form.value.folders = kept
    },
    { immediate: true },
  )

  // After a failure the form just begins with the last launch.
  watch(own.error, cause => cause !== null && logError(cause))
  const ownLoaded = own.load()
  if (preferred.value === undefined) {
    const { templates, load } = useTemplates()
    const settle = () => (preferred.value = templates.value?.find(({ isDefault }) => isDefault)?.spec ?? null)
    void Promise.all([load(), ownLoaded]).then(settle)
  }

  /** The choices whose folders the user can still mount, with their present names. */
  function stillMountable(choices: LaunchForm['folders']): LaunchForm['folders'] {
    return choices.flatMap(choice => {
      if (!folders.mountable) return [choice]
      const found = folders.mountable.find(({ id }) => id === choice.folder)
      return found ? [{ ...choice, name: found.name }] : []
    })
  }
  /** Fills the form with these choices, and with the user's own defaults for the image. */
  function beginWith(wish: LaunchForm, next: Image | undefined): void {
    const { largest, left } = place.room.value
    const before = fitForm(wish, next, largest, left)
    const defaults = defaultsFor(next, own.defaults.value ?? [])
    if (defaults) {
      const filledIn = withDefaults(before, defaults, folders.byId)
      form.value = fitForm({ ...filledIn, folders: stillMountable(filledIn.folders) }, next, largest, left)
    } else form.value = before
    ownApplied = defaults ? applied(before, form.value) : null
  }
  function chooseImage(reference: string): void {
    const next = resources.images?.find(candidate => candidate.reference === reference)
    beginWith({ ...(ownApplied ? withoutDefaults(form.value, ownApplied) : form.value), image: reference }, next)
  }
  /** The stored defaults for the chosen image, and ways to change them. */
  const imageDefaults = {
    stored: computed(() => defaultsFor(image.value, own.defaults.value ?? [])),
    async save(spec: SessionSpec): Promise<void> {
      await own.put(defaultsOf({ ...spec, image: imageDefaults.stored.value?.image ?? spec.image }))
    },
    async remove(): Promise<void> {
      if (imageDefaults.stored.value) await own.remove(imageDefaults.stored.value.image)
    },
  }

  /** Replaces the choices by those of an earlier launch or a template, as far as agents, limits and projects still allow them. */
  function fill(wish: LaunchForm): void {
    const next = imageNamed(resources.images, wish.image)
    const offered = { projects: place.projects.value, resourceGroups: place.resourceGroups.value, taken: taken.value }
    const now = refilled(form.value, { ...wish, image: next?.reference ?? wish.image }, offered)
    const stays = now.project === form.value.project && now.resourceGroup === form.value.resourceGroup
    const { cpu, mem, shmem, gpu } = wish
    awaited = stays ? {} : { cpu, mem, shmem, gpu }
    form.value = fitForm(now, next, place.room.value.largest, place.room.value.left)
  }

  return {
    form,
    place,
    image,
    filled,
    /** True if the form begins with the choices of an earlier launch. */
    repeats: launch.like !== null || last !== null,
    imageDefaults,
    chooseImage,
    fill,
  }
}
