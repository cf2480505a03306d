import { useProject } from './useProject.ts'
import { useResourceGroup } from './useResourceGroup.ts'

/** The project and the resource group chosen in the top bar; they take precedence over those of earlier launches and templates. */
export function chosenPlace(): { project?: string; resourceGroup?: string } {
  const project = useProject().chosen
  const group = useResourceGroup().chosen
  return { ...(project ? { project: project.id } : {}), ...(group === null ? {} : { resourceGroup: group }) }
}
