import { type Image, type ResourceSlots, type SessionDetails } from '#manager/contract'
import { imageNamed } from './image-named.ts'
import { byUse } from './image-order.ts'
import { defaultForm, formLike, type LaunchForm } from './launch-form.ts'
import { type Remembered } from './remembered.ts'

/** Sources of the form's initial choices. */
interface Sources {
  /** The session to repeat. */
  readonly like: SessionDetails | null
  readonly last: Remembered | null
  /** The empty form; its place and its app are kept. */
  readonly form: LaunchForm
  /** Largest amounts of one session. */
  readonly most: ResourceSlots
}

/** Initial choices of the form. Those of the last launch apply only to its image; without a last launch, the most used image is chosen. */
export function firstChoices(images: readonly Image[], { like, last, form, most }: Sources) {
  const start = imageNamed(images, like?.image ?? last?.image) ?? images.toSorted(byUse)[0]
  const kept = like ? formLike(like) : last && last.image === start?.reference ? { ...last, count: 1 } : {}
  const { project, resourceGroup, opens } = form
  const image = start?.reference ?? ''
  const wish: LaunchForm = { ...defaultForm(start, most), ...kept, image, project, resourceGroup, opens }
  return { wish, start }
}
