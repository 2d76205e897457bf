import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules/", ".lab/", "eslint.config.js"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      curly: "error",
      eqeqeq: "error",
      "prefer-const": "error",
      // node:test returns promises that its own runner awaits.
      "@typescript-eslint/no-floating-promises": [
        "error",
        {
          allowForKnownSafeCalls: [
            {
              from: "package",
              package: "node:test",
              name: [
                "test",
                "describe",
                "it",
                "suite",
                "before",
                "after",
                "beforeEach",
                "afterEach",
              ],
            },
          ],
        },
      ],
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "CallExpression[callee.property.name='apply'] NewExpression[callee.object.name=/^(pulumi|command|proxmox|oci)$/]",
          message: "No resources inside apply: the preview would not see them.",
        },
        {
          selector:
            "ClassDeclaration[superClass.property.name='ComponentResource']:not(:has(CallExpression[callee.property.name='registerOutputs'] > ObjectExpression))",
          message: "A component ends its constructor with registerOutputs({...}).",
        },
      ],
    },
  },
);
