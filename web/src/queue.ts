/** Work in order, a few at a time; a task that fails does not hold up the others. */

export interface Queue {
  add(task: () => Promise<void>): void;
}

export function createQueue(atOnce: number): Queue {
  const waiting: (() => Promise<void>)[] = [];
  let running = 0;
  const next = (): void => {
    const task = running < atOnce ? waiting.shift() : undefined;
    if (!task) return;
    running++;
    void task()
      .catch((error: unknown) => console.error(error))
      .finally(() => {
        running--;
        next();
      });
    next();
  };
  return {
    add: (task) => {
      waiting.push(task);
      next();
    },
  };
}
