/** Whether a component of an engine, as the engine names it, is Podman behind Docker's API. */
export const isPodman = (component: string): boolean => /podman/i.test(component)
